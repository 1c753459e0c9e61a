// The page of a sale in the admin: its countdown. live-figures.js renews its figures.

import { start } from "../shop/countdown.js";

start();
