-- What the brands of some managers sold in a month.
SELECT d_year, i_brand_id AS brand_id, i_brand AS brand, sum(ss_ext_sales_price) AS price
FROM date_dim JOIN store_sales ON d_date_sk = ss_sold_date_sk JOIN item ON ss_item_sk = i_item_sk
WHERE i_manager_id IN (1, 2, 3, 5, 31) AND d_moy = 11 AND d_year = 2000
GROUP BY d_year, i_brand, i_brand_id
ORDER BY d_year, price DESC, brand_id
