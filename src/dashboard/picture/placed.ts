/** @module Elements of a picture with coordinates in pixels. */
import type { Mark } from '../story/story-parts.ts'

export interface PlacedMark {
  readonly x: number
  readonly y: number
  readonly mark: Mark
}

export interface Line {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
}
