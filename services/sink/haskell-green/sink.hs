-- Sink, a Haskell thread for each client and standard output in an MVar, which
-- one of them holds at a time: lines never mix, and all wait for the slowest write.
import Control.Concurrent
import Control.Exception (IOException, handle, try)
import Control.Monad (forever, unless, void, when)
import qualified Data.ByteString.Char8 as B
import Network.Socket
import Network.Socket.ByteString (recv)
import System.Environment (getArgs)
import System.Exit (ExitCode(..), die)
import System.IO
import System.Posix.Process (exitImmediately)
import System.Posix.Signals (Handler(Catch), installHandler, sigTERM)

-- | In bytes. The longest line with its LF is PIPE_BUF, as the service says; the
-- chunk bounds what a client can make the server hold.
longest, chunk :: Int
longest = 4096

chunk = 16384

main :: IO ()
main = do
  args <- getArgs
  listener <-
    case args of
      [port] -> open port "127.0.0.1"
      [port, host] -> open port host
      _ -> die "usage: sink PORT [HOST]"
  void $ installHandler sigTERM (Catch $ exitImmediately ExitSuccess) Nothing
  hSetBuffering stdout NoBuffering
  output <- newMVar stdout
  hPutStrLn stderr "ready"
  forever $ try (accept listener) >>= either later (welcome output . fst)

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

welcome :: MVar Handle -> Socket -> IO ()
welcome output client =
  void $ forkFinally (collect output client B.empty) (const $ close client)

-- | Held is the line that has not ended. Nothing preempts a thread here, so it
-- yields: others go first, and the next recv will not have to wait.
collect :: MVar Handle -> Socket -> B.ByteString -> IO ()
collect output client held = do
  bytes <- recv client chunk
  let (whole, rest) = ended $ held <> bytes
  if B.null bytes
    then unless (B.null held) $ write output $ B.snoc held '\n'
    else do
      unless (B.null whole) $ write output whole
      when (B.length rest < longest) $ yield >> collect output client rest

-- | The lines that have ended. Steps of longest stop at a line that is too long.
ended :: B.ByteString -> (B.ByteString, B.ByteString)
ended text = B.splitAt (go 0) text
  where
    go n = maybe n (go . (n + 1 +)) $ lastEnd $ B.take longest $ B.drop n text
    lastEnd = B.elemIndexEnd '\n'

-- | The holder of the output writes. If that fails, no other thread writes.
write :: MVar Handle -> B.ByteString -> IO ()
write output text = withMVar output $ \out -> handle failed $ B.hPut out text
  where
    failed e = do
      hPutStrLn stderr $ "writing: " <> show (e :: IOException)
      exitImmediately $ ExitFailure 1
