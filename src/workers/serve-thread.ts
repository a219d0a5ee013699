/** @module The thread's side: starts the program, answers its owner, and ends when told to. */
import { parentPort, workerData } from 'node:worker_threads'
import { type ErrorKind, failureOf } from './failure.ts'
import { type Calls, type Handlers, type NoCalls, Peer } from './peer.ts'
import type { FromThread, ToThread } from './worker-thread.ts'

export interface Served<Answered extends Calls<Answered>> {
  readonly handlers: Handlers<Answered>
  /** Releases the resources; the owner sends no further calls. */
  readonly close: () => void | Promise<void>
}

/** The owner of a thread, seen from the thread's program. */
export interface Owner<Asked extends Calls<Asked>> extends Pick<Peer<Asked, NoCalls>, 'ask' | 'tell' | 'stop'> {
  /** Ends the thread after the messages of this turn are sent. */
  leave(): void
}

/** If `begin` throws, the owner receives that error as the reason why the thread did not start. Calls that arrive in the meantime are queued. */
export async function serveThread<Data, Asked extends Calls<Asked>, Answered extends Calls<Answered>>(
  begin: (data: Data, owner: Owner<Asked>) => Served<Answered> | Promise<Served<Answered>>,
  errors: readonly ErrorKind[] = [],
): Promise<void> {
  const port = parentPort
  if (port === null) throw new Error('this program runs in a worker thread')
  const say = (message: FromThread, buffers: readonly ArrayBuffer[] = []): void => port.postMessage(message, buffers)
  const peer = new Peer<Asked, Answered>(say, errors)
  const leave = (): void => void setImmediate(() => port.close())
  const owner: Owner<Asked> = {
    ask: (name, args, signal) => peer.ask(name, args, signal),
    tell: (name, args) => peer.tell(name, args),
    stop: () => peer.stop(),
    leave,
  }
  const ended = new Promise<void>((resolve) => {
    port.on('message', (message: ToThread) => (message.kind === 'end' ? resolve() : peer.receive(message)))
  })
  try {
    const { handlers, close } = await begin(workerData as Data, owner)
    peer.serve(handlers)
    say({ kind: 'ready' })
    await ended
    await close()
  } catch (error) {
    say({ kind: 'open-failed', failure: failureOf(error, errors) })
  }
  leave()
}
