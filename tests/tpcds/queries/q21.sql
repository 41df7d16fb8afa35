-- Items whose stock after a day is between two thirds and three halves of that before it.
SELECT w_warehouse_name, i_item_id, before, after
FROM (
    SELECT w_warehouse_name, i_item_id,
           sum(CASE WHEN d_date < DATE '2000-03-11' THEN inv_quantity_on_hand ELSE 0 END) AS before,
           sum(CASE WHEN d_date >= DATE '2000-03-11' THEN inv_quantity_on_hand ELSE 0 END) AS after
    FROM inventory JOIN warehouse ON inv_warehouse_sk = w_warehouse_sk JOIN item ON i_item_sk = inv_item_sk
    JOIN date_dim ON inv_date_sk = d_date_sk
    WHERE d_date BETWEEN DATE '2000-02-10' AND DATE '2000-04-10'
    GROUP BY w_warehouse_name, i_item_id
)
WHERE before > 0 AND after / before BETWEEN 2.0 / 3.0 AND 3.0 / 2.0
ORDER BY w_warehouse_name, i_item_id
LIMIT 30
