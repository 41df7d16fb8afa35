---- plan
π name, when((income > 2000), 'high', isnull(income), 'unknown', 'low') AS Band: €
  σ (((country = 'US') AND not((income > 2000))) OR (in(country, 'JP', 'it's') OR (name LIKE 'J%\_')))
    client [client_id, name, country, income]
---- spark
SELECT
  client.name,
  CASE WHEN client.income > 2000 THEN 'high' WHEN client.income IS NULL THEN 'unknown' ELSE 'low' END AS `Band: €`
FROM client
WHERE
  (
    client.country = 'US' AND NOT (
      client.income > 2000
    )
  )
  OR client.country IN ('JP', 'it\'s')
  OR client.name LIKE 'J%\\_'
---- postgres
SELECT
  client.name,
  CASE WHEN client.income > 2000 THEN 'high' WHEN client.income IS NULL THEN 'unknown' ELSE 'low' END AS "Band: €"
FROM client
WHERE
  (
    client.country = 'US' AND NOT (
      client.income > 2000
    )
  )
  OR client.country IN ('JP', 'it''s')
  OR client.name LIKE E'J%\\_'
