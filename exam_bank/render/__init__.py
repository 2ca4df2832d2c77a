"""From variants to what people read: PDF papers by pandoc and Typst, and the practice page as HTML.

tree      Markdown → pandoc's tree, many pieces in one call        formulas  TeX → Typst, MathML and words
typst     tree → Typst markup                                      html      tree → HTML
paper     an exam → paper.pdf, solutions.pdf, boxes                practice  an exam → one HTML file
"""
