-- What the brands of some makers sold every November.
SELECT d.d_year, i.i_brand_id, i.i_brand, sum(ss.ss_ext_sales_price) AS revenue
FROM store_sales AS ss
JOIN date_dim AS d ON d.d_date_sk = ss.ss_sold_date_sk
JOIN item AS i ON i.i_item_sk = ss.ss_item_sk
WHERE d.d_moy = 11 AND i.i_manufact_id BETWEEN 100 AND 180
GROUP BY d.d_year, i.i_brand_id, i.i_brand
ORDER BY d.d_year, revenue DESC, i.i_brand_id, i.i_brand
LIMIT 40
