---- plan
α country; sum(debt) AS total, count(DISTINCT client_id) FILTER (WHERE (income > 2000)) AS rich
  ⋈ (client_id = client_id_2)
    client [client_id, name, country, income]
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.country,
  SUM(debt.debt) AS total,
  COUNT(DISTINCT client.client_id) FILTER (WHERE client.income > 2000) AS rich
FROM client
INNER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
GROUP BY
  client.country
---- postgres
SELECT
  client.country,
  SUM(debt.debt) AS total,
  COUNT(DISTINCT client.client_id) FILTER (WHERE client.income > 2000) AS rich
FROM client
INNER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
GROUP BY
  client.country
