-- Temporal's two databases, and the role temporal_server that owns them and is no superuser. Run it with psql as a
-- superuser, before every update of Temporal's tables; it may run again. It also takes over tables that were made by
-- another user. The password is in the environment.
\set ON_ERROR_STOP on
\getenv password TEMPORAL_SERVER_POSTGRES_PASSWORD

SELECT 'CREATE ROLE temporal_server LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'temporal_server') \gexec
ALTER ROLE temporal_server PASSWORD :'password';
SELECT format('CREATE DATABASE %I', d) FROM unnest(ARRAY['temporal', 'temporal_visibility']) d
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = d) \gexec

\connect temporal
\ir temporal-database-owner.sql
\connect temporal_visibility
\ir temporal-database-owner.sql
