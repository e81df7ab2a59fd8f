# A bot for Papaya that answers whoever says !time. It needs Python 3 only.
# usage: python3 timebot.py https://chat.example.org TOKEN ROOM, with a token of papaya bot add
import datetime, json, sys, time, urllib.error, urllib.request

server, token, room = sys.argv[1:4]
url = f"{server}/api/rooms/{room}/messages"


def ask(query="", body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url + query, data, headers)
        ) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 429:
            raise
        time.sleep(int(error.headers["Retry-After"]))
        return ask(query, body)


newest = ask("?limit=1")["messages"]
last = newest[-1]["id"] if newest else "0"  # what was said before is not answered
while True:
    for message in ask(f"?after={last}&wait=15")["messages"]:
        last = message["id"]
        if message["text"] == "!time":
            ask(body={"text": f"{message['from']}: {datetime.datetime.now():%H:%M}"})
