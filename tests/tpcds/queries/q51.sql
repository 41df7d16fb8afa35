-- Days on which an item's running total on the web was above that of the stores.
WITH web AS (
    SELECT ws_item_sk AS item, d_date AS day, sum(sum(ws_sales_price)) OVER (PARTITION BY ws_item_sk ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
    FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1211 AND ws_item_sk IS NOT NULL
    GROUP BY ws_item_sk, d_date
), shop AS (
    SELECT ss_item_sk AS item, d_date AS day, sum(sum(ss_sales_price)) OVER (PARTITION BY ss_item_sk ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
    FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1211 AND ss_item_sk IS NOT NULL
    GROUP BY ss_item_sk, d_date
)
SELECT item, day, web_total, shop_total
FROM (
    SELECT item, day, max(web_sales) OVER (PARTITION BY item ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS web_total,
           max(shop_sales) OVER (PARTITION BY item ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS shop_total
    FROM (SELECT coalesce(web.item, shop.item) AS item, coalesce(web.day, shop.day) AS day, web.total AS web_sales, shop.total AS shop_sales
          FROM web FULL OUTER JOIN shop ON web.item = shop.item AND web.day = shop.day)
)
WHERE web_total > shop_total
ORDER BY item, day
LIMIT 30
