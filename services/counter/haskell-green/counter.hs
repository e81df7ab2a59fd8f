-- Counter, a Haskell thread for each client and one reference for all, changed
-- atomically: no lock and no owner, at the price of a thread that tries again
-- when another was faster, and of the runtime between the kernel and every read.
import Control.Concurrent (forkFinally, threadDelay, yield)
import Control.Exception (IOException, try)
import Control.Monad (forever, unless, void)
import qualified Data.ByteString as B
import Data.ByteString.Builder (toLazyByteString, word64BE)
import Data.IORef (IORef, atomicModifyIORef', newIORef)
import Data.Word (Word64)
import Network.Socket
import Network.Socket.ByteString (recv)
import Network.Socket.ByteString.Lazy (sendAll)
import System.Environment (getArgs)
import System.Exit (ExitCode(ExitSuccess), die)
import System.IO (hPutStrLn, stderr)
import System.Posix.Process (exitImmediately)
import System.Posix.Signals (Handler(Catch), installHandler, sigTERM)

-- | In requests; bounds what one read takes and one write answers.
batch :: Int
batch = 1024

main :: IO ()
main = do
  args <- getArgs
  listener <-
    case args of
      [port] -> open port "127.0.0.1"
      [port, host] -> open port host
      _ -> die "usage: counter PORT [HOST]"
  void $ installHandler sigTERM (Catch $ exitImmediately ExitSuccess) Nothing
  count <- newIORef 0
  hPutStrLn stderr "ready"
  forever $ try (accept listener) >>= either later (welcome count . fst)

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

welcome :: IORef Word64 -> Socket -> IO ()
welcome count client = void $ forkFinally serve (const $ close client)
  where
    serve = setSocketOption client NoDelay 1 >> answer count client

-- | A batch is one change of the count. Nothing preempts a thread here, so it
-- yields: others go first, and the next recv will not have to wait.
answer :: IORef Word64 -> Socket -> IO ()
answer count client = do
  requests <- recv client batch
  let known = B.takeWhile (<= 1) requests
      increments = B.foldl' (\n r -> n + fromIntegral r) 0 known
  before <- atomicModifyIORef' count $ \n -> (n + increments, n)
  let values =
        drop 1 $ scanl (\n r -> n + fromIntegral r) before $ B.unpack known
  sendAll client $ toLazyByteString $ foldMap word64BE values
  unless (B.null requests || B.length known < B.length requests) $
    yield >> answer count client
