#!/bin/sh
# The image of PostgreSQL runs this once, when its volume is empty.
exec psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
    --set owner_password="$OWNER_PASSWORD" --set shop_password="$SHOP_PASSWORD" --file /roles.sql
