---- plan
σ (has_debt OR (country = 'US'))
  ∃ (client_id = client_id_2)
    client [client_id, name, country, income]
    σ (debt > 100)
      debt [client_id_2, debt, date]
---- spark
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income,
  q.has_debt
FROM (
  SELECT
    client_2.client_id,
    client_2.name,
    client_2.country,
    client_2.income,
    EXISTS(
      SELECT
        1
      FROM main.debt AS debt_2
      WHERE
        client_2.client_id = debt_2.client_id AND debt_2.debt > 100
    ) AS has_debt
  FROM client AS client_2
) AS q
WHERE
  q.has_debt OR q.country = 'US'
---- postgres
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income,
  q.has_debt
FROM (
  SELECT
    client_2.client_id,
    client_2.name,
    client_2.country,
    client_2.income,
    EXISTS(
      SELECT
        1
      FROM main.debt AS debt_2
      WHERE
        client_2.client_id = debt_2.client_id AND debt_2.debt > 100
    ) AS has_debt
  FROM client AS client_2
) AS q
WHERE
  q.has_debt OR q.country = 'US'
