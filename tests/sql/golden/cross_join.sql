---- plan
×
  client [client_id, name, country, income]
  loan [client_id_3, loan_amount, date_2]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  `Loan Table`.client_id AS client_id_3,
  `Loan Table`.loanAmount AS loan_amount,
  `Loan Table`.date AS date_2
FROM client
CROSS JOIN main.`Loan Table` AS `Loan Table`
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  "Loan Table".client_id AS client_id_3,
  "Loan Table"."loanAmount" AS loan_amount,
  "Loan Table".date AS date_2
FROM client
CROSS JOIN main."Loan Table" AS "Loan Table"
