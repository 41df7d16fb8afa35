-- The items with the best and with the worst average profit, side by side.
WITH profit AS (
    SELECT ss_item_sk AS item, avg(ss_net_profit) AS mean
    FROM store_sales WHERE ss_store_sk = 1
    GROUP BY ss_item_sk
    HAVING avg(ss_net_profit) > 0.9 * (SELECT avg(ss_net_profit) FROM store_sales WHERE ss_store_sk = 1 AND ss_addr_sk IS NULL)
), up AS (SELECT item, rank() OVER (ORDER BY mean ASC, item) AS place FROM profit),
down AS (SELECT item, rank() OVER (ORDER BY mean DESC, item) AS place FROM profit)
SELECT up.place, a.i_product_name AS worst, b.i_product_name AS best
FROM up JOIN down ON up.place = down.place JOIN item AS a ON a.i_item_sk = up.item JOIN item AS b ON b.i_item_sk = down.item
WHERE up.place < 6
ORDER BY up.place
