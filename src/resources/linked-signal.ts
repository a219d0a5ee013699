/**
 * @module A signal that follows others. `AbortSignal.any` is not used because Node keeps each of its signals that has a listener, with everything that the
 * listener references, as long as the followed signal lives: a kilobyte and more for each call of a model or a tool.
 */

type Listener = (reason: unknown) => void

/** One listener per signal for all followers: Node warns above ten. */
const listeners = new WeakMap<AbortSignal, Set<Listener>>()

/** Calls `listener` when the signal, which must not be aborted yet, is aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const known = listeners.get(signal)
  const all = known ?? new Set<Listener>()
  all.add(listener)
  if (known === undefined) {
    listeners.set(signal, all)
    signal.addEventListener('abort', () => tellAll(signal, all), { once: true })
  }
  return () => all.delete(listener)
}

function tellAll({ reason }: AbortSignal, all: Set<Listener>): void {
  for (const listener of [...all]) listener(reason)
  all.clear()
}

type Leave = () => void

const abandoned = new FinalizationRegistry<readonly Leave[]>(leaveAll)

/** Aborted when one of the signals is, with its reason. It lives as long as `own`; the other signals may live longer and then hold no reference to it. */
export function linkedSignal(own: AbortSignal, ...others: readonly (AbortSignal | undefined)[]): AbortSignal {
  const followed = others.filter((each) => each !== undefined)
  const aborted = [own, ...followed].find((each) => each.aborted)
  if (aborted !== undefined) return AbortSignal.abort(aborted.reason)
  const controller = new AbortController()
  const leaving = followEach(followed, new WeakRef(controller))
  own.addEventListener('abort', () => controller.abort(own.reason), { once: true })
  controller.signal.addEventListener('abort', () => leaveAll(leaving), { once: true })
  abandoned.register(controller, leaving)
  return controller.signal
}

/** A separate function: a listener created where the controller is in scope would hold a reference to it. */
function followEach(signals: readonly AbortSignal[], weak: WeakRef<AbortController>): readonly Leave[] {
  return signals.map((signal) => onAbort(signal, (reason) => weak.deref()?.abort(reason)))
}

function leaveAll(leaving: readonly Leave[]): void {
  for (const leave of leaving) leave()
}

/** The reason of a signal of a peer's leaving, where this process closed the connection as it ended. */
export const CLOSED_BY_US = 'closed-by-us'
