#!/bin/sh
# Keeps one file of PostgreSQL's write-ahead log. In postgresql.conf:
#   archive_mode = on
#   archive_timeout = 60
#   archive_command = '/srv/stampede/deploy/backup/archive-wal.sh %p %f /var/backups/stampede'
# The third word is a folder, or a place of rclone, such as bucket:stampede. PostgreSQL repeats the call until it ends
# with 0, and deletes its own file only then. A file that is there already is never replaced by another one.
set -eu
path=$1 name=$2 place=$3

case $place in
*:*)
    if rclone lsjson --stat "$place/wal/$name" >/dev/null 2>&1; then
        rclone cat "$place/wal/$name" | cmp - "$path"
        exit
    fi
    exec rclone copyto "$path" "$place/wal/$name"
    ;;
esac
mkdir -p "$place/wal"
if [ -e "$place/wal/$name" ]; then
    exec cmp "$path" "$place/wal/$name"
fi
cp "$path" "$place/wal/.$name"
sync "$place/wal/.$name"
mv "$place/wal/.$name" "$place/wal/$name"
sync "$place/wal"
