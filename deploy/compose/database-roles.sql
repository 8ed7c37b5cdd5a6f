-- Who may log in to Temper's database, and as what: temper_migrate owns the tables; the other roles of Temper read and
-- write rows and change no table. Run it with psql as a superuser, before every temper migrate; it may run again. It
-- also takes over tables that were made by another user. The passwords are in the environment.
\set ON_ERROR_STOP on
\getenv migrate TEMPER_MIGRATE_POSTGRES_PASSWORD
\getenv api TEMPER_API_POSTGRES_PASSWORD
\getenv orchestrator TEMPER_ORCHESTRATOR_POSTGRES_PASSWORD
\getenv conductor TEMPER_CONDUCTOR_POSTGRES_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', r) FROM unnest(ARRAY['temper_migrate', 'temper_api', 'temper_orchestrator', 'temper_conductor']) r
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) \gexec
ALTER ROLE temper_migrate      PASSWORD :'migrate';
ALTER ROLE temper_api          PASSWORD :'api';
ALTER ROLE temper_orchestrator PASSWORD :'orchestrator';
ALTER ROLE temper_conductor    PASSWORD :'conductor';

SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO temper_migrate, temper_api, temper_orchestrator, temper_conductor', current_database()) \gexec

ALTER SCHEMA public OWNER TO temper_migrate;
GRANT USAGE ON SCHEMA public TO temper_api, temper_orchestrator, temper_conductor;

-- Tables, sequences and functions that exist already. The sequence of an identity column goes with its table.
SELECT format('ALTER %s %s OWNER TO temper_migrate', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass)
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'S')
   AND (c.relkind <> 'S' OR NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))) \gexec
SELECT format('ALTER FUNCTION %s OWNER TO temper_migrate', p.oid::regprocedure)
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace \gexec
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO temper_api, temper_orchestrator, temper_conductor;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO temper_api, temper_orchestrator, temper_conductor;

-- The audit: rows are added and read, and never changed. The orchestrator ends and drops partitions by a function of the owner's, and
-- sends the audit to its sinks.
SELECT format('REVOKE UPDATE, DELETE ON %s FROM temper_api, temper_orchestrator, temper_conductor', c.oid::regclass)
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname ~ '^audit(_newest|_through_[0-9]+)?$' \gexec
SELECT format('REVOKE INSERT, UPDATE, DELETE ON %s FROM temper_api, temper_conductor', c.oid::regclass)
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN ('audit_parts', 'audit_sinks') \gexec
SELECT format('GRANT EXECUTE ON FUNCTION %s TO temper_orchestrator', p.oid::regprocedure)
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname = 'audit_rotate' \gexec

-- Tables, sequences and functions that migrations make later.
ALTER DEFAULT PRIVILEGES FOR ROLE temper_migrate IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO temper_api, temper_orchestrator, temper_conductor;
ALTER DEFAULT PRIVILEGES FOR ROLE temper_migrate IN SCHEMA public
    GRANT USAGE ON SEQUENCES TO temper_api, temper_orchestrator, temper_conductor;
ALTER DEFAULT PRIVILEGES FOR ROLE temper_migrate IN SCHEMA public
    GRANT EXECUTE ON FUNCTIONS TO temper_orchestrator;
