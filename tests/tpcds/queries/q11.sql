-- Customers whose spending grew more on the web than in the store.
WITH spent AS (
    SELECT c_customer_id AS id, c_birth_country AS country, d_year AS year, sum(ss_ext_list_price - ss_ext_discount_amt) AS total, 's' AS channel
    FROM customer, store_sales, date_dim
    WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk
    GROUP BY c_customer_id, c_birth_country, d_year
    UNION ALL
    SELECT c_customer_id, c_birth_country, d_year, sum(ws_ext_list_price - ws_ext_discount_amt), 'w'
    FROM customer, web_sales, date_dim
    WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk
    GROUP BY c_customer_id, c_birth_country, d_year
)
SELECT s2.id, s2.country
FROM spent AS s1, spent AS s2, spent AS w1, spent AS w2
WHERE s1.id = s2.id AND s1.id = w1.id AND s1.id = w2.id
  AND s1.channel = 's' AND s2.channel = 's' AND w1.channel = 'w' AND w2.channel = 'w'
  AND s1.year = 2001 AND s2.year = 2002 AND w1.year = 2001 AND w2.year = 2002
  AND s1.total > 0 AND w1.total > 0
  AND CASE WHEN w1.total > 0 THEN w2.total / w1.total ELSE 0 END > CASE WHEN s1.total > 0 THEN s2.total / s1.total ELSE 0 END
ORDER BY s2.id, s2.country
