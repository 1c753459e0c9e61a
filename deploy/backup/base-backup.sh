#!/bin/sh
# Makes a base backup and forgets old ones:  base-backup.sh PLACE
# PLACE is a folder, or a place of rclone, such as bucket:stampede, and the same as in archive_command. The connection is that of
# the environment (PGHOST, PGUSER, PGPASSWORD …); the role needs REPLICATION. KEEP_DAYS (14): older base backups go,
# and the log from before the oldest one that stays, but not the histories of timelines. A backup that PostgreSQL does not
# verify, or whose log the place does not have, is not kept.
set -eu
place=${1:?base-backup.sh PLACE}
keep_days=${KEEP_DAYS:-14}
name=$(date -u +%Y-%m-%dT%H%M%SZ)

# Debian has PostgreSQL's programs in a directory for each release, and some of them not in PATH.
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' :)
if ! command -v pg_verifybackup >/dev/null; then
    echo "pg_verifybackup, a program of PostgreSQL, is not in PATH." >&2
    exit 1
fi

case $place in
*:*)
    # Of a call that was broken off: the size of the database.
    [ -z "${CACHE_DIRECTORY:-}" ] || rm -rf "$CACHE_DIRECTORY"/tmp.*
    work=$(mktemp -d -p "${CACHE_DIRECTORY:-/var/tmp}")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    ;;
*)
    work=$place/.unfinished
    rm -rf "$work"
    mkdir -p "$work" "$place/base"
    ;;
esac

# 2026-11-24T101500Z as others read it.
moment() {
    echo "$1" | sed 's/T\(..\)\(..\)/T\1:\2:/'
}

# Its name is the moment before it begins. It restores any moment after its end, which is kept beside it.
pg_basebackup --pgdata "$work/$name" --checkpoint fast --wal-method none --no-password
ended=$(date -u +%Y-%m-%dT%H%M%SZ)
PATH=/usr/lib/postgresql/$(cat "$work/$name/PG_VERSION")/bin:$PATH
pg_verifybackup --no-parse-wal "$work/$name"
# PostgreSQL ends a backup when the place has its log, or at once where it keeps none.
log=wal/$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' "$work/$name/backup_label")
case $place in
*:*) rclone lsjson --stat "$place/$log" >/dev/null 2>&1 || log= ;;
*) [ -f "$place/$log" ] || log= ;;
esac
if [ -z "$log" ]; then
    echo "$place has no log: without the log this backup restores nothing. Is archive_mode on, and archive_command for this place?" >&2
    exit 1
fi

oldest=$(date -u -d "$keep_days days ago" +%Y-%m-%dT%H%M%SZ)
case $place in
*:*)
    rclone copy "$work/$name" "$place/base/$name"
    # What marks a backup as complete comes last.
    echo "$ended" >"$work/complete"
    rclone copyto "$work/complete" "$place/base/$name.complete"
    kept=
    for each in $(rclone lsf --files-only "$place/base" | sed -n 's/\.complete$//p' | sort -r); do
        if [ "$each" \< "$oldest" ] && [ -n "$kept" ]; then
            rclone deletefile "$place/base/$each.complete"
            rclone purge "$place/base/$each"
        else
            kept=$each
        fi
    done
    rclone delete --min-age "$(moment "$kept")" --exclude '[0-9A-F]*.history' "$place/wal"
    ;;
*)
    echo "$ended" >"$place/base/$name.complete"
    sync -f "$work"
    mv "$work/$name" "$place/base/$name"
    rmdir "$work"
    kept=
    for each in $(ls "$place/base" | sed '/\.complete$/d' | sort -r); do
        if [ "$each" \< "$oldest" ] && [ -n "$kept" ]; then
            rm -rf "${place:?}/base/$each" "$place/base/$each.complete"
        else
            kept=$each
        fi
    done
    find "$place/wal" -type f ! -newermt "$(moment "$kept")" ! -name '[0-9A-F]*.history' -delete
    ;;
esac
echo "base backup $name"
