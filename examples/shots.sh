#!/usr/bin/env bash
# The pictures of README.md: the viewer in a window of its own, on a screen that nobody sees.
#
# Needs xvfb, xdotool and imagemagick. Usage: examples/shots.sh [DERMIS] [MODEL FOR THE CLIPS AND WEIGHTS]
set -euo pipefail
cd "$(dirname "$0")/.."
dermis=${1:-target/release/dermis}
model=${2:-hand}
mkdir -p docs

# shot NAME SECONDS MODEL TAB [xdotool commands…]: a window of 1200 × 760, left alone for some seconds, used, pictured.
shot() {
    local name=$1 seconds=$2 file=$3 tab=$4
    shift 4
    export name seconds file tab dermis
    xvfb-run -a -s '-screen 0 1200x760x24' bash -c '
        "$dermis" view "$file" --no-settings --tab "$tab" >/dev/null 2>&1 &
        viewer=$!
        sleep "$seconds"
        # Without a window manager nobody gives the window keys, or fills the screen with it.
        window=$(xdotool search --name dermis | head -1)
        xdotool windowmove "$window" 0 0 windowsize "$window" 1200 760 windowfocus "$window"
        sleep 2
        for command in "$@"; do xdotool $command; sleep 0.4; done
        sleep 6
        import -window root "docs/$name.png"
        kill $viewer
    ' shot "$@"
    echo "docs/$name.png"
}

# Turns the picture to the front.
front=('mousemove 500 690' 'mousedown 1' 'mousemove 550 690' 'mousemove 600 690' 'mouseup 1')

# Drags the point of the pose space from where it begins.
point() { at=("mousemove 957 571" "mousedown 1" "mousemove $((($1 + 957) / 2)) $((($2 + 571) / 2))" "mousemove $1 $2" "mouseup 1"); }

point 923 597 && shot open 12 hand pose "${front[@]}" "${at[@]}"
point 991 598 && shot pose 12 hand pose "${front[@]}" "${at[@]}"
point 1057 598 && shot fist 12 hand pose "${front[@]}" "${at[@]}"
shot tetrahedron 12 hand pose "${front[@]}" 'mousemove 188 122' 'click 1'
shot weights 12 "$model" weights
shot error 12 "$model" weights 'mousemove 202 89' 'click 1'
shot skeleton 12 "$model" skeleton
shot crowd 12 "$model" play 'mousemove 14 347' 'mousedown 1' 'mousemove 30 347' 'mousemove 46 347' 'mouseup 1'
