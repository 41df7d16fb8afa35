-- Sales, returns and profit of a fortnight by channel and place, with totals.
WITH store_side AS (
    SELECT s_store_id AS place, sum(sales) AS sales, sum(returned) AS returned, sum(profit) - sum(loss) AS profit
    FROM (
        SELECT ss_store_sk AS sk, ss_sold_date_sk AS day_sk, ss_ext_sales_price AS sales, ss_net_profit AS profit,
               CAST(0 AS decimal(7, 2)) AS returned, CAST(0 AS decimal(7, 2)) AS loss
        FROM store_sales
        UNION ALL
        SELECT sr_store_sk, sr_returned_date_sk, CAST(0 AS decimal(7, 2)), CAST(0 AS decimal(7, 2)), sr_return_amt, sr_net_loss
        FROM store_returns
    ) JOIN date_dim ON d_date_sk = day_sk JOIN store ON s_store_sk = sk
    WHERE d_date BETWEEN DATE '2000-08-01' AND DATE '2000-08-31'
    GROUP BY s_store_id
), web_side AS (
    SELECT web_site_id AS place, sum(sales) AS sales, sum(returned) AS returned, sum(profit) - sum(loss) AS profit
    FROM (
        SELECT ws_web_site_sk AS sk, ws_sold_date_sk AS day_sk, ws_ext_sales_price AS sales, ws_net_profit AS profit,
               CAST(0 AS decimal(7, 2)) AS returned, CAST(0 AS decimal(7, 2)) AS loss
        FROM web_sales
        UNION ALL
        SELECT ws_web_site_sk, wr_returned_date_sk, CAST(0 AS decimal(7, 2)), CAST(0 AS decimal(7, 2)), wr_return_amt, wr_net_loss
        FROM web_returns LEFT JOIN web_sales ON ws_item_sk = wr_item_sk AND ws_order_number = wr_order_number
    ) JOIN date_dim ON d_date_sk = day_sk JOIN web_site ON web_site_sk = sk
    WHERE d_date BETWEEN DATE '2000-08-01' AND DATE '2000-08-31'
    GROUP BY web_site_id
)
SELECT channel, place, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (
    SELECT 'store' AS channel, place, sales, returned, profit FROM store_side
    UNION ALL
    SELECT 'web', place, sales, returned, profit FROM web_side
)
GROUP BY ROLLUP (channel, place)
ORDER BY channel, place
