/** @module How many streams a tenant holds open: one that never reads must not keep others from reading. */

export interface StreamSlots {
  /** Gives the slot back when called, once or more; undefined where the tenant has none left. */
  acquire(tenant: string): (() => void) | undefined
  /** Slots in use, of all tenants. */
  readonly open: number
}

export function createStreamSlots(perTenant: number): StreamSlots {
  const used = new Map<string, number>()
  let open = 0
  const change = (tenant: string, by: number): void => {
    open += by
    const now = (used.get(tenant) ?? 0) + by
    if (now === 0) used.delete(tenant)
    else used.set(tenant, now)
  }
  return {
    acquire: (tenant) => {
      if ((used.get(tenant) ?? 0) >= perTenant) return undefined
      change(tenant, 1)
      let held = true
      return () => {
        if (held) change(tenant, -1)
        held = false
      }
    },
    get open() {
      return open
    },
  }
}
