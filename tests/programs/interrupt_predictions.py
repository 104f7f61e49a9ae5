"""Interrupt predictions many times; print whether the model's lock is free afterwards."""

import _thread
import threading
import time

import stumpery as st

rows = [{"age": float(age % 60), "x": age % 7 / 7} for age in range(240)]
model = st.HoeffdingTreeClassifier(grace_period=20)
model.learn_many(rows, [int(row["age"] > 25) for row in rows])
model.predict_one(rows[0])
stop, n = threading.Event(), 0


def interrupt():
    while not stop.wait(0.0005):
        _thread.interrupt_main()


thread = threading.Thread(target=interrupt)
thread.start()
end = time.monotonic() + 2.0
while time.monotonic() < end:
    try:
        while time.monotonic() < end:
            model.predict_one(rows[0])
    except KeyboardInterrupt:
        n += 1
while thread.is_alive():
    try:
        stop.set()
        thread.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        pass
other = threading.Thread(target=model.learn_one, args=(rows[0], 1), daemon=True)
other.start()
other.join(60.0)
print(n > 20, other.is_alive(), set(model._readers))
