---- plan
⟕ (client_id = client_id_2)
  client [client_id, name, country, income]
  γ outer explode(sequence(1, debt)) → copies
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  q.client_id_2,
  q.debt,
  q.date,
  q.copies
FROM client
LEFT OUTER JOIN (
  SELECT
    debt.client_id AS client_id_2,
    debt.debt,
    debt.date,
    g.copies
  FROM main.debt AS debt
  LATERAL VIEW OUTER
  EXPLODE(SEQUENCE(1, debt.debt)) g AS copies
) AS q
  ON client.client_id = q.client_id_2
---- postgres
the generator explode cannot run outside Spark: it is not proved to give the same rows outside Spark
