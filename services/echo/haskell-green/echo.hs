-- Echo, a Haskell thread for each client: code that reads like blocking calls,
-- run by GHC's own scheduler on a kernel thread for each core, at the price of
-- that scheduler and its pollers between the kernel and every read.
import Control.Concurrent (forkFinally, threadDelay, yield)
import Control.Exception (IOException, try)
import Control.Monad (forever, unless, void)
import qualified Data.ByteString as B
import Network.Socket
import Network.Socket.ByteString (recv, sendAll)
import System.Environment (getArgs)
import System.Exit (ExitCode(ExitSuccess), die)
import System.IO (hPutStrLn, stderr)
import System.Posix.Process (exitImmediately)
import System.Posix.Signals (Handler(Catch), installHandler, sigTERM)

-- | In bytes; bounds what a client can make the server hold.
chunk :: Int
chunk = 4096

main :: IO ()
main = do
  args <- getArgs
  listener <-
    case args of
      [port] -> open port "127.0.0.1"
      [port, host] -> open port host
      _ -> die "usage: echo PORT [HOST]"
  void $ installHandler sigTERM (Catch $ exitImmediately ExitSuccess) Nothing
  hPutStrLn stderr "ready"
  forever $ try (accept listener) >>= either later (welcome . fst)

-- | An exception ends main: one line on standard error and status 1.
open :: ServiceName -> HostName -> IO Socket
open port host = do
  let hints = defaultHints {addrFamily = AF_INET, addrSocketType = Stream}
  address:_ <- getAddrInfo (Just hints) (Just host) (Just port)
  listener <- openSocket address
  setSocketOption listener ReuseAddr 1
  bind listener $ addrAddress address
  listen listener 4096
  return listener

-- | Out of descriptors: connected clients are still served, the next waits.
later :: IOException -> IO ()
later _ = threadDelay 100000

welcome :: Socket -> IO ()
welcome client = void $ forkFinally serve (const $ close client)
  where
    serve = setSocketOption client NoDelay 1 >> echo client

-- | The server stops reading from a client that does not read. Nothing preempts a thread
-- here, so it yields: others go first, and the next recv will not have to wait.
echo :: Socket -> IO ()
echo client = do
  bytes <- recv client chunk
  unless (B.null bytes) $ sendAll client bytes >> yield >> echo client
