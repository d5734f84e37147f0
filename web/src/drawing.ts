// What is drawn on a canvas: anew when it, its size or the colours change.
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

export type Style = (name: string) => string; // the value of a custom property

// The width of an element, as it changes.
export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    // Not at once: what is drawn then may change sizes, which the browser calls an error.
    const observer = new ResizeObserver(([entry]) =>
      requestAnimationFrame(() => setWidth(entry.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

// Changes when the colours do.
export function useColours(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map(matchMedia
      .bind(window));
    const change = () => setTurn((old) => old + 1);
    for (const query of queries) query.addEventListener('change', change);
    return () => queries.forEach((query) => query.removeEventListener('change', change));
  }, []);
  return turn;
}

// Draws in CSS pixels, once a frame at most, when one of `inputs` has changed.
export function useDrawing(canvas: { current: HTMLCanvasElement | null }, width: number,
  height: number, draw: (surface: CanvasRenderingContext2D, style: Style) => void,
  inputs: unknown[]): void {
  const colours = useColours();
  useLayoutEffect(() => { // else it would be a frame behind the words
    const element = canvas.current!, surface = element.getContext('2d')!;
    const request = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1, style = getComputedStyle(element);
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      surface.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(surface, (name) => style.getPropertyValue(name).trim());
    });
    return () => cancelAnimationFrame(request);
  }, [width, height, colours, ...inputs]);
}
