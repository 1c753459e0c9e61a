-- Two roles: `stampede_owner` has the tables and changes them (migrations), `stampede` reads and writes rows (web servers,
-- workers, beat). Once, by a superuser, in the shop's database:
--
--   psql --dbname stampede --set owner_password=… --set shop_password=… --file roles.sql
--
-- In a database that exists, where `stampede` has the tables: first CREATE ROLE stampede_owner, REASSIGN OWNED BY stampede
-- TO stampede_owner, and leave out the two CREATE ROLE below.
CREATE ROLE stampede_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE stampede LOGIN PASSWORD :'shop_password';

ALTER DATABASE :"DBNAME" OWNER TO stampede_owner;
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO stampede;
ALTER SCHEMA public OWNER TO stampede_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO stampede;

-- Of tables that are there, and of those that migrations make.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO stampede;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO stampede;
ALTER DEFAULT PRIVILEGES FOR ROLE stampede_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO stampede;
ALTER DEFAULT PRIVILEGES FOR ROLE stampede_owner IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO stampede;
