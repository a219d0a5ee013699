/** @module How far a view, the auditors' index or the logs lag behind: events of this process that their last whole pass has not seen. */

import type { IndexProgress } from './audit/index-building.ts'

export class Followed {
  readonly #eventsSoFar: () => number
  #seen: number | undefined
  #building: () => IndexProgress | undefined = () => undefined

  /** `eventsSoFar`: events that this process has made durable. */
  constructor(eventsSoFar: () => number) {
    this.#eventsSoFar = eventsSoFar
  }

  /** Called as a pass begins; what it returns is called where the pass reached the end of the store as it was then. */
  passing(): () => void {
    const events = this.#eventsSoFar()
    return () => {
      this.#seen = events
    }
  }

  /** Requested `building`, which is undefined while nothing is being made from far behind. */
  watchBuilding(building: () => IndexProgress | undefined): void {
    this.#building = building
  }

  get building(): IndexProgress | undefined {
    return this.#building()
  }

  /** Undefined before the first whole pass: nobody has counted yet. */
  get lagEvents(): number | undefined {
    return this.#seen === undefined ? undefined : this.#eventsSoFar() - this.#seen
  }
}
