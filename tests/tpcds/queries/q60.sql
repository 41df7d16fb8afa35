-- What all channels sold of one category's items in a month.
WITH wanted AS (SELECT i_item_id AS id FROM item WHERE i_category IN ('Music')),
shop AS (SELECT i_item_id AS id, sum(ss_ext_sales_price) AS total FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk JOIN item ON ss_item_sk = i_item_sk
         WHERE i_item_id IN (SELECT id FROM wanted) AND d_year = 1998 AND d_moy = 9 GROUP BY i_item_id),
web AS (SELECT i_item_id AS id, sum(ws_ext_sales_price) AS total FROM web_sales JOIN date_dim ON ws_sold_date_sk = d_date_sk JOIN item ON ws_item_sk = i_item_sk
        WHERE i_item_id IN (SELECT id FROM wanted) AND d_year = 1998 AND d_moy = 9 GROUP BY i_item_id)
SELECT id, sum(total) AS total FROM (SELECT * FROM shop UNION ALL SELECT * FROM web) AS sold GROUP BY id ORDER BY id, total
