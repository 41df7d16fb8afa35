-- Customers whose spending grew more by catalog than in the store and on the web.
WITH spent AS (
    SELECT c_customer_id AS id, c_last_name AS name, d_year AS year, 'store' AS channel, sum(ss_ext_list_price - ss_ext_discount_amt) AS total
    FROM customer JOIN store_sales ON ss_customer_sk = c_customer_sk JOIN date_dim ON d_date_sk = ss_sold_date_sk
    GROUP BY c_customer_id, c_last_name, d_year
    UNION ALL
    SELECT c_customer_id, c_last_name, d_year, 'catalog', sum(cs_ext_list_price - cs_ext_discount_amt)
    FROM customer JOIN catalog_sales ON cs_bill_customer_sk = c_customer_sk JOIN date_dim ON d_date_sk = cs_sold_date_sk
    GROUP BY c_customer_id, c_last_name, d_year
    UNION ALL
    SELECT c_customer_id, c_last_name, d_year, 'web', sum(ws_ext_list_price - ws_ext_discount_amt)
    FROM customer JOIN web_sales ON ws_bill_customer_sk = c_customer_sk JOIN date_dim ON d_date_sk = ws_sold_date_sk
    GROUP BY c_customer_id, c_last_name, d_year
)
SELECT s1.id, s1.name
FROM spent AS s1
JOIN spent AS s2 ON s2.id = s1.id AND s2.channel = 'store' AND s2.year = s1.year + 1
JOIN spent AS c1 ON c1.id = s1.id AND c1.channel = 'catalog' AND c1.year = s1.year
JOIN spent AS c2 ON c2.id = s1.id AND c2.channel = 'catalog' AND c2.year = s1.year + 1
JOIN spent AS w1 ON w1.id = s1.id AND w1.channel = 'web' AND w1.year = s1.year
JOIN spent AS w2 ON w2.id = s1.id AND w2.channel = 'web' AND w2.year = s1.year + 1
WHERE s1.channel = 'store' AND s1.year = 2000 AND s1.total > 0 AND c1.total > 0 AND w1.total > 0
  AND c2.total / c1.total > s2.total / s1.total
ORDER BY s1.id
