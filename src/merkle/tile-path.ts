/** @module Paths of the tiles of a log: `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]` (C2SP tlog-tiles). */

/** Number of hashes in a full tile, and of entries in a full bundle. */
export const TILE_WIDTH = 256
/** Levels of the tree that one tile covers. */
export const TILE_HEIGHT = 8
const LEVEL_MAX = 63

export interface TileId {
  /** Level of the tile, or `entries` for a bundle of the leaves' entries. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256; less than 256 for a partial tile. */
  readonly width: number
}

/** Formats the path. Throws `RangeError` for an invalid tile. */
export function tilePath({ level, index, width }: TileId): string {
  const isLevel = level === 'entries' || (Number.isInteger(level) && level >= 0 && level <= LEVEL_MAX)
  if (
    !isLevel ||
    !Number.isSafeInteger(index) ||
    index < 0 ||
    !Number.isInteger(width) ||
    width < 1 ||
    width > TILE_WIDTH
  ) {
    throw new RangeError(`there is no tile of level ${level}, index ${index} and width ${width}`)
  }
  return `tile/${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Groups of three digits, all but the last prefixed with `x`, so that a folder and a file never have the same name. */
function indexPath(index: number): string {
  const digits = String(index)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  const groups = padded.match(/\d{3}/g) ?? []
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
}

const PATH = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Parses a path; undefined for any spelling other than that of `tilePath`. */
export function parseTilePath(path: string): TileId | undefined {
  const [, levelText = '', indexText = '', widthText] = PATH.exec(path) ?? []
  if (levelText === '') return undefined
  const level: TileId['level'] = levelText === 'entries' ? 'entries' : Number(levelText)
  const index = Number(indexText.replaceAll(/[x/]/g, ''))
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText)
  if (level !== 'entries' && level > LEVEL_MAX) return undefined
  if (!Number.isSafeInteger(index) || width > TILE_WIDTH) return undefined
  const tile = { level, index, width }
  // Leading zero groups and a partial tile of full width would be second spellings of the same tile.
  return tilePath(tile) === path ? tile : undefined
}

/** Width of a tile in a tree of `size` leaves: 256 if it is full, 0 if the tree does not reach it. */
export function tileWidth(level: number, index: number, size: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** level)
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH))
}
