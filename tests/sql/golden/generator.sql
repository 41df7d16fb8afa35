---- plan
σ (copies > 2)
  γ outer explode(sequence(1, debt)) → copies
    debt [client_id_2, debt, date]
---- spark
SELECT
  debt.client_id AS client_id_2,
  debt.debt,
  debt.date,
  g.copies
FROM main.debt AS debt
LATERAL VIEW OUTER
EXPLODE(SEQUENCE(1, debt.debt)) g AS copies
WHERE
  g.copies > 2
---- postgres
the generator explode cannot run outside Spark: it is not proved to give the same rows outside Spark
