"""What a worker or beat has loaded stays: no collection looks at it again. Loaded after all tasks (shop/celery.py).

Celery collects before it starts each process of its pool, which took 0.1 s every time and found nothing. And those
processes share the memory of their parent as long as none writes to it, which a collection does.
"""

import gc

gc.freeze()
