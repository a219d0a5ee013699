/** @module A limit of the runs of a tenant that workers carry at the same time (RUN-244). */
import type { Command } from '../../../schemas/commands.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { Caller, Outcome } from '../ledger.ts'
import { refused } from './write-refusals.ts'

/** Number of other runs of the tenant that workers carry now, at most `limit`. */
type CountCarried = (tenant: string, of: { readonly except: string; readonly limit: number }) => Promise<number>

/** Whether the run can still be taken under this fence; otherwise a request to take it is a repeat, or is refused for another reason. */
type IsFree = (caller: Caller, runId: string, fence: number) => Promise<boolean>

/** Requests of one tenant with a limit follow one another in this process, so that each counts what those before it took. */
export class CarriedLimit {
  readonly #count: CountCarried
  readonly #isFree: IsFree
  /** The end of the last request of each tenant; those of tenants without one are removed. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(count: CountCarried, isFree: IsFree) {
    this.#count = count
    this.#isFree = isFree
  }

  /** `take` once there is room; undefined if the command has no limit. */
  within(
    caller: Caller,
    { runId, command }: { readonly runId: string; readonly command: Command },
    take: () => Promise<Outcome>,
  ): Promise<Outcome> | undefined {
    const { perTenant: atMost, fence } = (command.kind === 'start' ? command.body.worker : undefined) ?? {}
    if (atMost === undefined || fence === undefined) return undefined
    const { tenant } = caller
    const before = this.#last.get(tenant) ?? Promise.resolve()
    const taken = before.then(async () => {
      const carried = await this.#count(tenant, { except: runId, limit: atMost })
      return carried >= atMost && (await this.#isFree(caller, runId, fence)) ? refused(full(atMost)) : take()
    })
    const over: Promise<void> = taken.then(
      () => this.#ended(tenant, over),
      () => this.#ended(tenant, over),
    )
    this.#last.set(tenant, over)
    return taken
  }

  #ended(tenant: string, over: Promise<unknown>): void {
    if (this.#last.get(tenant) === over) this.#last.delete(tenant)
  }
}

function full(limit: number): Refusal {
  const message = `workers carry ${limit} runs of the tenant, as many as this one allows: take it once one has ended or is left`
  return refusal('workers-full', message, { evidence: { limit } })
}
