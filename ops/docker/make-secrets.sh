#!/bin/sh
# Makes the secrets that compose.yml reads, in the folder `secrets` beside this script. It never replaces a file.
# The folder is closed to everybody else (0700). The files in it are readable (0444), because the users inside the
# containers are not the user of this machine.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
chmod 700 secrets

random() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }
keep() {
    if [ ! -e "secrets/$1" ]; then
        cat > "secrets/$1.part"
        chmod 444 "secrets/$1.part"
        mv "secrets/$1.part" "secrets/$1"
        echo "made secrets/$1"
    fi
}

random 32 | keep admit_secret
random 24 | keep postgres_password
random 24 | keep postgres_admit_password
printf 'postgres://admit:%s@postgres:5432/admit' "$(cat secrets/postgres_admit_password)" | keep database_url
printf 'requirepass %s\nsave ""\nappendonly no\nmaxmemory 256mb\nmaxmemory-policy allkeys-lru\n' "$(random 24)" | keep redis_conf
printf 'redis://:%s@redis:6379' "$(sed -n 's/^requirepass //p' secrets/redis_conf)" | keep redis_url
printf 'GARAGE_DEFAULT_ACCESS_KEY=GK%s\nGARAGE_DEFAULT_SECRET_KEY=%s\nGARAGE_DEFAULT_BUCKET=admit\nGARAGE_RPC_SECRET=%s\n' \
    "$(random 12)" "$(random 32)" "$(random 32)" | keep garage.env
printf 's3://%s:%s@admit?endpoint=http%%3A%%2F%%2Fs3%%3A3900&region=garage' \
    "$(sed -n 's/^GARAGE_DEFAULT_ACCESS_KEY=//p' secrets/garage.env)" \
    "$(sed -n 's/^GARAGE_DEFAULT_SECRET_KEY=//p' secrets/garage.env)" | keep objects_url
random 16 | keep grafana_password
