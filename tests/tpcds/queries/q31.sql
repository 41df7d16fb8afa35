-- Kinds of homes to which web sales grew faster in the second half of a year than store sales in the first.
WITH shop AS (
    SELECT ca_location_type AS place, d_qoy AS quarter, sum(ss_ext_sales_price) AS sales
    FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk JOIN customer_address ON ss_addr_sk = ca_address_sk
    WHERE d_year = 2000 GROUP BY ca_location_type, d_qoy
), web AS (
    SELECT ca_location_type AS place, d_qoy AS quarter, sum(ws_ext_sales_price) AS sales
    FROM web_sales JOIN date_dim ON ws_sold_date_sk = d_date_sk JOIN customer_address ON ws_bill_addr_sk = ca_address_sk
    WHERE d_year = 2000 GROUP BY ca_location_type, d_qoy
)
SELECT s1.place, w2.sales / w1.sales AS web_growth, s2.sales / s1.sales AS shop_growth
FROM shop AS s1, shop AS s2, web AS w1, web AS w2
WHERE s1.quarter = 1 AND s1.place = s2.place AND s2.quarter = 2 AND s1.place = w1.place AND w1.quarter = 3
  AND w1.place = w2.place AND w2.quarter = 4
  AND CASE WHEN w1.sales > 0 THEN w2.sales / w1.sales END > CASE WHEN s1.sales > 0 THEN s2.sales / s1.sales END
ORDER BY s1.place
