/**
 * @module A signal that follows others. `AbortSignal.any` would do, but for as long as the one it follows lives, Node holds each signal of it that somebody
 * listened to, with all that its listener holds: a kilobyte and more for each call of a model or a tool.
 */

type Listener = (reason: unknown) => void

/** One listener of ours for each signal, whoever follows it: Node warns of more than ten. */
const listeners = new WeakMap<AbortSignal, Set<Listener>>()

/** Calls `listener` when the signal is aborted, which it must not be yet. What comes back ends that. */
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

/** Aborted when one of them is, with its reason. It lives as long as `own` does; the others may live on, and then hold nothing of it. */
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

/** Apart: a listener that is made where the controller is in scope holds it. */
function followEach(signals: readonly AbortSignal[], weak: WeakRef<AbortController>): readonly Leave[] {
  return signals.map((signal) => onAbort(signal, (reason) => weak.deref()?.abort(reason)))
}

function leaveAll(leaving: readonly Leave[]): void {
  for (const leave of leaving) leave()
}
