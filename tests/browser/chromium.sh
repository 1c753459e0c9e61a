#!/bin/sh
# Chromium without the two pages of its own that it loads for the address bar of each window, which no test sees:
# half of what a new window costs. It heeds the last --disable-features alone, so they are added to Playwright's.
for argument; do
    shift
    case $argument in
        --disable-features=*) argument="$argument,WebUIOmniboxPopup,WebUIOmniboxAimPopup" ;;
    esac
    set -- "$@" "$argument"
done
exec "$CHROMIUM" "$@"
