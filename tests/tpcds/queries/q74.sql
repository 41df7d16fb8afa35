-- Customers whose greatest payments grew more on the web than in the store.
WITH paid AS (
    SELECT c_customer_id AS id, c_first_name AS first_name, d_year AS year, max(ss_net_paid) AS most, 's' AS channel
    FROM customer, store_sales, date_dim WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year IN (2001, 2002)
    GROUP BY c_customer_id, c_first_name, d_year
    UNION ALL
    SELECT c_customer_id, c_first_name, d_year, max(ws_net_paid), 'w'
    FROM customer, web_sales, date_dim WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year IN (2001, 2002)
    GROUP BY c_customer_id, c_first_name, d_year
)
SELECT s2.id, s2.first_name
FROM paid AS s1 JOIN paid AS s2 ON s2.id = s1.id JOIN paid AS w1 ON w1.id = s1.id JOIN paid AS w2 ON w2.id = s1.id
WHERE s1.channel = 's' AND w1.channel = 'w' AND s2.channel = 's' AND w2.channel = 'w' AND s1.year = 2001 AND s2.year = 2002 AND w1.year = 2001 AND w2.year = 2002
  AND s1.most > 0 AND w1.most > 0 AND w2.most / w1.most > s2.most / s1.most
ORDER BY s2.id
