import java.awt.BorderLayout;
import java.awt.CardLayout;
import java.awt.Image;
import java.awt.datatransfer.DataFlavor;
import java.awt.datatransfer.Transferable;
import java.awt.datatransfer.UnsupportedFlavorException;
import java.awt.event.KeyEvent;
import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import javax.swing.ImageIcon;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JScrollPane;
import javax.swing.JTextArea;
import javax.swing.JTextPane;
import javax.swing.KeyStroke;
import javax.swing.SwingUtilities;
import javax.swing.TransferHandler;
import javax.swing.text.AttributeSet;
import javax.swing.text.BadLocationException;
import javax.swing.text.Element;
import javax.swing.text.JTextComponent;
import javax.swing.text.StyleConstants;
import javax.swing.text.html.HTMLDocument;

/**
 * A text area, a pane of formatted text, a picture, and two holders of an object, of which one is shown.
 *
 * <p>Lines of standard input: show KIND, load PATH, select, clear, dump PATH, quit; each is answered with one line. Copy and paste
 * are Swing's own, by key; for pictures Swing has the clipboard's format and leaves the keys to the program.
 */
public final class SwingText {
    private final JFrame frame = new JFrame("SwingText");
    private final JPanel cards = new JPanel(new CardLayout());
    private final JTextArea text = new JTextArea();
    private final JTextPane rich = new JTextPane();
    private final Picture picture = new Picture();
    /** The object is copied in the one and pasted in the other. */
    private final Holder giver = new Holder();
    private final Holder taker = new Holder();
    private final JPanel holders = new JPanel();
    private JComponent shown = text;

    private SwingText() {
        rich.setContentType("text/html");
        cards.add(new JScrollPane(text), "text");
        cards.add(new JScrollPane(rich), "rich");
        cards.add(picture, "image");
        holders.add(giver);
        holders.add(taker);
        cards.add(holders, "object");
        frame.add(cards, BorderLayout.CENTER);
        frame.setSize(500, 300);
        frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
        frame.setVisible(true);
    }

    /** A label that copies and pastes by key, as Swing's text components do. */
    private abstract static class CopyingLabel extends JLabel {
        CopyingLabel(TransferHandler transfer) {
            setFocusable(true);
            setTransferHandler(transfer);
            bind(KeyEvent.VK_C, TransferHandler.getCopyAction());
            bind(KeyEvent.VK_V, TransferHandler.getPasteAction());
        }

        private void bind(int key, javax.swing.Action action) {
            Object name = action.getValue(javax.swing.Action.NAME);
            getInputMap().put(KeyStroke.getKeyStroke(key, KeyEvent.CTRL_DOWN_MASK), name);
            getActionMap().put(name, action);
        }
    }

    private static final class Picture extends CopyingLabel {
        private BufferedImage image;

        Picture() {
            super(new PictureTransfer());
        }

        void show(BufferedImage newImage) {
            image = newImage;
            setIcon(newImage == null ? null : new ImageIcon(newImage));
        }
    }

    private static final class PictureTransfer extends TransferHandler {
        private static final DataFlavor[] FLAVORS = {DataFlavor.imageFlavor};

        @Override
        public int getSourceActions(JComponent component) {
            return COPY;
        }

        @Override
        protected Transferable createTransferable(JComponent component) {
            Image image = ((Picture) component).image;
            return new Transferable() {
                @Override
                public DataFlavor[] getTransferDataFlavors() {
                    return FLAVORS.clone();
                }

                @Override
                public boolean isDataFlavorSupported(DataFlavor flavor) {
                    return DataFlavor.imageFlavor.equals(flavor);
                }

                @Override
                public Object getTransferData(DataFlavor flavor) throws UnsupportedFlavorException {
                    if (!isDataFlavorSupported(flavor)) {
                        throw new UnsupportedFlavorException(flavor);
                    }
                    return image;
                }
            };
        }

        @Override
        public boolean canImport(TransferSupport support) {
            return support.isDataFlavorSupported(DataFlavor.imageFlavor);
        }

        @Override
        public boolean importData(TransferSupport support) {
            try {
                Image image = (Image) support.getTransferable().getTransferData(DataFlavor.imageFlavor);
                BufferedImage copy = new BufferedImage(image.getWidth(null), image.getHeight(null), BufferedImage.TYPE_INT_ARGB);
                copy.getGraphics().drawImage(image, 0, 0, null);
                ((Picture) support.getComponent()).show(copy);
                return true;
            } catch (IOException | UnsupportedFlavorException error) {
                return false;
            }
        }
    }

    /** What a holder holds. It can't be serialized, so that nothing but this virtual machine can hand it on. */
    private static final class Thing {
        private final String name;

        Thing(String name) {
            this.name = name;
        }
    }

    private static final class Holder extends CopyingLabel {
        private Thing thing;

        Holder() {
            super(new ThingTransfer());
        }
    }

    private static final class ThingTransfer extends TransferHandler {
        private static final DataFlavor FLAVOR = new DataFlavor(
                DataFlavor.javaJVMLocalObjectMimeType + "; class=\"" + Thing.class.getName() + "\"", "a thing");

        @Override
        public int getSourceActions(JComponent component) {
            return COPY;
        }

        @Override
        protected Transferable createTransferable(JComponent component) {
            Thing thing = ((Holder) component).thing;
            return new Transferable() {
                @Override
                public DataFlavor[] getTransferDataFlavors() {
                    return new DataFlavor[] {FLAVOR};
                }

                @Override
                public boolean isDataFlavorSupported(DataFlavor flavor) {
                    return FLAVOR.equals(flavor);
                }

                @Override
                public Object getTransferData(DataFlavor flavor) throws UnsupportedFlavorException {
                    if (!isDataFlavorSupported(flavor)) {
                        throw new UnsupportedFlavorException(flavor);
                    }
                    return thing;
                }
            };
        }

        @Override
        public boolean canImport(TransferSupport support) {
            return support.isDataFlavorSupported(FLAVOR);
        }

        @Override
        public boolean importData(TransferSupport support) {
            try {
                ((Holder) support.getComponent()).thing = (Thing) support.getTransferable().getTransferData(FLAVOR);
                return true;
            } catch (IOException | UnsupportedFlavorException error) {
                return false;
            }
        }
    }

    /** The card of a kind. */
    private JComponent card(String kind) {
        switch (kind) {
            case "text":
                return text;
            case "rich":
                return rich;
            case "image":
                return picture;
            default:
                return holders;
        }
    }

    private String obey(String name, String argument) throws IOException, BadLocationException {
        switch (name) {
            case "show":
                shown = card(argument);
                ((CardLayout) cards.getLayout()).show(cards, argument);
                shown.requestFocusInWindow();
                return "done";
            case "load":
                load(Path.of(argument));
                return "done";
            case "select":
                if (shown == holders) {
                    giver.requestFocusInWindow();
                } else if (shown instanceof JTextComponent) {
                    ((JTextComponent) shown).selectAll();
                }
                return "done";
            case "clear":
                if (shown == picture) {
                    picture.show(null);
                } else if (shown == holders) {
                    taker.thing = null;
                    taker.requestFocusInWindow();
                } else {
                    empty();
                }
                return "done";
            case "dump":
                dump(Path.of(argument));
                return "done";
            default:
                return "error: show, load, select, clear or dump";
        }
    }

    private void load(Path path) throws IOException {
        if (shown == picture) {
            picture.show(ImageIO.read(path.toFile()));
        } else if (shown == holders) {
            giver.thing = new Thing(Files.readString(path));
        } else {
            empty();
            ((JTextComponent) shown).setText(Files.readString(path));
        }
    }

    /** Formatted text gets a new document: the old one keeps the styles of what was in it. */
    private void empty() {
        if (shown == rich) {
            rich.setDocument(rich.getEditorKit().createDefaultDocument());
        } else {
            ((JTextComponent) shown).setText("");
        }
    }

    private void dump(Path path) throws IOException, BadLocationException {
        if (shown == text) {
            Files.writeString(path, text.getText());
        } else if (shown == rich) {
            StringBuilder runs = new StringBuilder();
            describe(rich.getDocument().getDefaultRootElement(), runs);
            Files.writeString(path, runs.toString().strip());
        } else if (shown == holders) {
            Thing taken = taker.thing;
            Files.writeString(path, taken == null ? "" : (taken == giver.thing ? "same " : "another ") + taken.name);
        } else if (picture.image == null) {
            Files.write(path, new byte[0]);
        } else {
            ImageIO.write(picture.image, "png", new File(path.toString()));
        }
    }

    /** The text with its bold and italic runs marked, since the HTML that Swing writes has a form of its own. */
    private void describe(Element element, StringBuilder runs) throws BadLocationException {
        if (!element.isLeaf()) {
            for (int i = 0; i < element.getElementCount(); i++) {
                describe(element.getElement(i), runs);
            }
            return;
        }
        AttributeSet look = element.getAttributes();
        HTMLDocument document = (HTMLDocument) element.getDocument();
        int end = Math.min(element.getEndOffset(), document.getLength());
        String run = document.getText(element.getStartOffset(), Math.max(0, end - element.getStartOffset()));
        String bold = StyleConstants.isBold(look) ? "b" : "";
        String italic = StyleConstants.isItalic(look) ? "i" : "";
        boolean isPlain = (bold + italic).isEmpty() || run.isBlank();
        runs.append(isPlain ? run : "[" + bold + italic + " " + run + "]");
    }

    /** Done when Swing's thread has done it, and all that was waiting there before. */
    private String answer(String line) throws Exception {
        String[] words = line.split(" ", 2);
        String[] result = new String[1];
        SwingUtilities.invokeAndWait(
                () -> {
                    try {
                        result[0] = obey(words[0], words.length > 1 ? words[1] : "");
                    } catch (IOException | BadLocationException | RuntimeException error) {
                        result[0] = "error: " + error;
                    }
                });
        return result[0];
    }

    public static void main(String[] arguments) throws Exception {
        SwingText[] program = new SwingText[1];
        SwingUtilities.invokeAndWait(() -> program[0] = new SwingText());
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            System.out.println(program[0].answer(line));
        }
        System.exit(0);
    }
}
