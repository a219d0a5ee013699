/** @module A store verified as the command does it, by so many threads. */
import { verifyTarget } from '../../src/cli/verify-target.ts'
import type { CheckDepth } from '../../src/signing/check.ts'
import type { VerifyFault } from '../../src/verify/fault.ts'
import type { SmallStore } from './small-store.ts'

export type Seen = { readonly result: unknown; readonly faults: readonly VerifyFault[] }

export async function throughThreads(
  store: SmallStore,
  path: string,
  { count, rangeRows, depth = 'full' }: { count: number; rangeRows: number; depth?: CheckDepth },
): Promise<Seen> {
  const faults: VerifyFault[] = []
  const { result } = await verifyTarget(
    { kind: 'store', name: path },
    {
      keys: store.keys,
      depth,
      onFault: (fault) => faults.push(fault),
      findKey: () => undefined,
      threads: { count, fromEvents: 0, rangeRows },
    },
  )
  return { result, faults }
}
