-- What all channels sold of items of three colours.
WITH coloured AS (SELECT i_item_id AS id FROM item WHERE i_color IN ('sky', 'salmon', 'tan')),
sold AS (
    SELECT i_item_id AS id, ss_ext_sales_price AS price FROM store_sales, date_dim, item
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 2
    UNION ALL
    SELECT i_item_id, cs_ext_sales_price FROM catalog_sales, date_dim, item
    WHERE cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 2
    UNION ALL
    SELECT i_item_id, ws_ext_sales_price FROM web_sales, date_dim, item
    WHERE ws_item_sk = i_item_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 2
)
SELECT id, sum(price) AS total FROM sold WHERE id IN (SELECT id FROM coloured) GROUP BY id ORDER BY total, id
