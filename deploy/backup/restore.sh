#!/bin/sh
# Restores PostgreSQL as it was at a moment:  restore.sh PLACE '2026-11-24 10:15:00+08' NEW_DATA_DIRECTORY
# PLACE is that of base-backup.sh. The directory must not exist; its parent must. Start PostgreSQL on it afterwards: it
# reads the log up to the moment, and then takes writes. Stop web, workers and beat before.
# The moment `latest` is the end of the log. A restored server writes the log on as a new timeline, and the next restore
# follows the newest one. TIMELINE=1 follows that timeline instead: for a moment that an earlier restore left out.
set -eu
usage='restore.sh PLACE MOMENT NEW_DATA_DIRECTORY'
place=${1:?$usage} moment=${2:?$usage} directory=${3:?$usage}
case $moment in
latest) wanted=latest target= goal="its end" ;; # Sorts after each name of a backup.
*)
    # Without an offset it is a time of this machine. PostgreSQL may be set to another zone.
    seconds=$(date -d "$moment" +%s.%6N)
    wanted=$(date -u -d "@$seconds" +%Y-%m-%dT%H%M%SZ)
    goal=$(date -u -d "@$seconds" '+%Y-%m-%d %H:%M:%S.%6N+00')
    target="recovery_target_time = '$goal'
recovery_target_action = 'promote'"
    ;;
esac

# A file of the place.
kept() {
    case $place in
    *:*) rclone cat "$place/$1" ;;
    *) cat "$place/$1" ;;
    esac
}

# When a backup ended. One of a release that did not note it counts from its name, the moment before it began.
ended() {
    noted=$(kept "base/$1.complete" 2>/dev/null) || noted=
    case $noted in
    2*) echo "$noted" ;;
    *) echo "$1" ;;
    esac
}

# A position in the log, such as 0/3000028, as a number.
position() { echo $((0x${1%/*} << 32 | 0x${1#*/})); }

# Whether the wanted timeline has the end of the backup: it is its own, or that of an ancestor that was left later.
leads_on() {
    range='s|.*"Timeline": \([0-9]*\), .*"End-LSN": "\([0-9A-F/]*\)".*|\1 \2|p'
    range=$(kept "base/$1/backup_manifest" | sed -n "$range" | head -n 1)
    of=${range% *} end=${range#* }
    [ "$of" != "$timeline" ] || return 0
    left=$(echo "$history" | sed -n "s|^$of[[:space:]]\{1,\}\([0-9A-F/]*\).*|\1|p")
    [ -n "$left" ] && [ "$(position "$left")" -ge "$(position "$end")" ]
}

case $place in
*:*) names=$(rclone lsf --files-only "$place/base" | sed -n 's/\.complete$//p') log=$(rclone lsf "$place/wal") ;;
*) names=$(ls "$place/base" | sed '/\.complete$/d') log=$(ls "$place/wal") ;;
esac
# The name of each file of the log begins with its timeline, in hexadecimal.
newest=$(echo "$log" | sed -n 's/^\([0-9A-F]\{8\}\).*/\1/p' | sort | tail -n 1)
timeline=${TIMELINE:-$((0x${newest:-1}))}
# Its ancestors, and where each was left. The first timeline has none.
history=$(kept "wal/$(printf %08X "$timeline").history" 2>/dev/null) || history=
found=
# The newest first: a backup that was being made at the moment is not consistent before its end.
for each in $(echo "$names" | sort -r); do
    if [ "$each" \< "$wanted" ] && [ "$(ended "$each")" \< "$wanted" ]; then
        if leads_on "$each"; then
            found=$each
            break
        fi
        echo "The base backup $each does not lead to timeline $timeline. TIMELINE=… would follow another." >&2
    fi
done
if [ -z "$found" ]; then
    echo "No base backup that had ended leads to $moment on timeline $timeline." >&2
    exit 1
fi
# Debian has PostgreSQL's programs in a directory for each release, and this one not in PATH.
release=$(kept "base/$found/PG_VERSION")
PATH=/usr/lib/postgresql/$release/bin:$PATH
if ! command -v pg_verifybackup >/dev/null; then
    echo "pg_verifybackup, a program of PostgreSQL $release, is not in PATH." >&2
    exit 1
fi
mkdir -m 700 "$directory"
case $place in
*:*)
    rclone copy "$place/base/$found" "$directory"
    fetch="rclone copyto $place/wal/%f %p"
    ;;
*)
    cp -a "$place/base/$found/." "$directory"
    fetch="cp $place/wal/%f %p"
    ;;
esac
# Empty directories are not kept everywhere.
for each in pg_wal pg_wal/archive_status pg_wal/summaries pg_commit_ts pg_dynshmem pg_logical/mappings pg_logical/snapshots pg_notify \
    pg_replslot pg_serial pg_snapshots pg_stat pg_stat_tmp pg_subtrans pg_tblspc pg_twophase pg_multixact/members pg_multixact/offsets pg_xact; do
    mkdir -p -m 700 "$directory/$each"
done
pg_verifybackup --no-parse-wal "$directory"
# The settings go when they have done their work: a standby that is made of this server later would stop at the moment.
cat >>"$directory/postgresql.auto.conf" <<END
# Of restore.sh
restore_command = '$fetch'
recovery_target_timeline = '${TIMELINE:-latest}'
$target
recovery_end_command = 'sed -i ''/^# Of restore.sh/,\$d'' postgresql.auto.conf'
END
touch "$directory/recovery.signal"
echo "$directory is the base backup $found; PostgreSQL reads the log of timeline $timeline up to $goal when it starts."
