-- temporal-database-role.sql runs this in each database of Temporal. What belongs to an extension stays the superuser's.
SELECT format('ALTER DATABASE %I OWNER TO temporal_server', current_database()) \gexec
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
ALTER SCHEMA public OWNER TO temporal_server;
SELECT format('ALTER TABLE %s OWNER TO temporal_server', c.oid::regclass)
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') \gexec
SELECT format('ALTER FUNCTION %s OWNER TO temporal_server', p.oid::regprocedure)
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') \gexec
