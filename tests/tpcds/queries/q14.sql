-- Items of brands that all three channels sell, and their sales above the average of all channels.
WITH everywhere AS (
    SELECT i_item_sk AS sk
    FROM item JOIN (
        SELECT i_brand_id AS brand, i_class_id AS class FROM store_sales JOIN item ON ss_item_sk = i_item_sk
        INTERSECT
        SELECT i_brand_id, i_class_id FROM catalog_sales JOIN item ON cs_item_sk = i_item_sk
        INTERSECT
        SELECT i_brand_id, i_class_id FROM web_sales JOIN item ON ws_item_sk = i_item_sk
    ) ON i_brand_id = brand AND i_class_id = class
), usual AS (
    SELECT avg(quantity * price) AS amount
    FROM (SELECT ss_quantity AS quantity, ss_list_price AS price FROM store_sales WHERE ss_quantity > 90
          UNION ALL
          SELECT ws_quantity, ws_list_price FROM web_sales WHERE ws_quantity > 90)
)
SELECT 'store' AS channel, i_brand_id, i_class_id, sum(ss_quantity * ss_list_price) AS sales, count(*) AS number
FROM store_sales JOIN item ON ss_item_sk = i_item_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk
WHERE ss_item_sk IN (SELECT sk FROM everywhere) AND d_year = 2001 AND d_moy = 11 AND i_category_id < 4
GROUP BY i_brand_id, i_class_id
HAVING sum(ss_quantity * ss_list_price) > (SELECT amount FROM usual)
ORDER BY i_brand_id, i_class_id
