/** @module A text of the picture in a box: it is clipped there with an ellipsis, whatever the font; its title contains all of it. */

export interface ClippedTextProps {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly text: string
  /** Kind of text, which selects its style. */
  readonly kind: string
}

/** SVG cannot clip a text by its length; HTML can. */
export function ClippedText({ x, y, width, height, text, kind }: ClippedTextProps) {
  return (
    <foreignObject x={x} y={y} width={width} height={height}>
      <div class={`clipped clipped-${kind}`} title={text}>
        {text}
      </div>
    </foreignObject>
  )
}
