-- Items whose stock varies much in one month and in the next.
WITH stock AS (
    SELECT w_warehouse_sk AS house, i_item_sk AS item, d_moy AS month, stddev_samp(inv_quantity_on_hand) AS spread, avg(inv_quantity_on_hand) AS mean
    FROM inventory, item, warehouse, date_dim
    WHERE inv_item_sk = i_item_sk AND inv_warehouse_sk = w_warehouse_sk AND inv_date_sk = d_date_sk AND d_year = 2001
    GROUP BY w_warehouse_sk, i_item_sk, d_moy
), varied AS (
    SELECT house, item, month, mean, CASE mean WHEN 0 THEN NULL ELSE spread / mean END AS cov
    FROM stock WHERE CASE mean WHEN 0 THEN 0 ELSE spread / mean END > 0.7
)
SELECT a.house, a.item, a.month, a.mean, a.cov, b.month AS next, b.mean AS next_mean, b.cov AS next_cov
FROM varied AS a JOIN varied AS b ON a.item = b.item AND a.house = b.house AND b.month = a.month + 1
WHERE a.month = 1
ORDER BY a.house, a.item, a.month
