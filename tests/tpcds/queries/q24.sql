-- Customers who paid more than is usual for returned things of one colour.
WITH paid AS (
    SELECT c_last_name, c_first_name, s_store_name, i_color, i_size, sum(ss_net_paid) AS net
    FROM store_sales
    JOIN store_returns ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
    JOIN store ON ss_store_sk = s_store_sk
    JOIN item ON ss_item_sk = i_item_sk
    JOIN customer ON ss_customer_sk = c_customer_sk
    JOIN customer_address ON c_current_addr_sk = ca_address_sk
    WHERE c_birth_country <> upper(ca_country) AND s_market_id < 10
    GROUP BY c_last_name, c_first_name, s_store_name, i_color, i_size
)
SELECT c_last_name, c_first_name, s_store_name, sum(net) AS paid
FROM paid
WHERE i_color IN ('pale', 'red', 'sky', 'tan', 'rose')
GROUP BY c_last_name, c_first_name, s_store_name
HAVING sum(net) > (SELECT 0.05 * avg(net) FROM paid)
ORDER BY c_last_name, c_first_name, s_store_name
