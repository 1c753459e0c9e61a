"""A mail server that keeps messages, or refuses them on demand. Enough of SMTP (RFC 5321) for Django's client."""

import socketserver
import threading
from email import message_from_bytes


class MailSink:
    """Listens from its creation; `refuses` may be set from any thread."""

    def __init__(self, port: int) -> None:
        self.refuses = False
        self.refused = 0
        self.message_ids: list[str] = []
        self._lock = threading.Lock()
        sink = self

        class SmtpSession(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 sink\r\n")
                for line in self.rfile:
                    verb = line[:4].upper().strip()
                    if verb == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        self.wfile.write(sink.take(self._message()))
                    elif verb == b"QUIT":
                        self.wfile.write(b"221 bye\r\n")
                        return
                    else:
                        self.wfile.write(b"250 sink\r\n")

            def _message(self) -> bytes:
                lines = []
                for line in self.rfile:
                    if line == b".\r\n":
                        break
                    lines.append(line)
                return b"".join(lines)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", port), SmtpSession)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="mail sink", daemon=True)
        self._thread.start()

    def take(self, message: bytes) -> bytes:
        """Keep the message or refuse it. Returns the reply."""
        with self._lock:
            if self.refuses:
                self.refused += 1
                return b"451 not now\r\n"
            self.message_ids.append(str(message_from_bytes(message)["Message-ID"]))
            return b"250 kept\r\n"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
